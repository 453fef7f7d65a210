package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/url"
)

type Page struct {
	Data []struct {
		ID   string `json:"id"`
		Role string `json:"role"`
	} `json:"data"`
	NextCursor string `json:"next_cursor"`
}

func readPage(path string, query url.Values) (page Page, err error) {
	address := "https://api.example.com/api/public/v1" + path + "?" + query.Encode()
	request, err := http.NewRequest("GET", address, nil)
	if err != nil {
		return page, err
	}
	request.Header.Set("Authorization", "Bearer YOUR_API_KEY")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return page, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return page, fmt.Errorf("status %d", response.StatusCode)
	}
	return page, json.NewDecoder(response.Body).Decode(&page)
}

func main() {
	query := url.Values{"limit": {"200"}}
	for {
		page, err := readPage("/users", query)
		if err != nil {
			log.Fatal(err)
		}
		for _, member := range page.Data {
			fmt.Println(member.ID, member.Role)
		}
		if page.NextCursor == "" {
			return
		}
		query.Set("cursor", page.NextCursor)
	}
}
