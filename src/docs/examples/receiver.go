package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"time"
)

var (
	secret  = []byte(os.Getenv("WEBHOOK_SECRET"))
	tForm   = regexp.MustCompile(`^t=(\d+)`)
	v1Form  = regexp.MustCompile(`v1=([0-9a-f]{64})`)
	maximum = 5 * time.Minute
)

func isGenuine(signature string, body []byte) bool {
	t := tForm.FindStringSubmatch(signature)
	if t == nil {
		return false
	}
	seconds, err := strconv.ParseInt(t[1], 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > maximum {
		return false
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(t[1] + "."))
	mac.Write(body)
	expected := hex.EncodeToString(mac.Sum(nil))
	// There are two while a secret is being changed.
	for _, v1 := range v1Form.FindAllStringSubmatch(signature, -1) {
		if hmac.Equal([]byte(expected), []byte(v1[1])) {
			return true
		}
	}
	return false
}

func main() {
	if len(secret) == 0 {
		log.Fatal("WEBHOOK_SECRET is missing")
	}
	http.HandleFunc("/", func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil || !isGenuine(request.Header.Get("Svc-Signature"), body) {
			response.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Println(string(body))
		response.WriteHeader(http.StatusNoContent)
	})
	log.Fatal(http.ListenAndServe("localhost:4000", nil))
}
