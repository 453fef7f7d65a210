require "json"
require "net/http"

def read_all(path)
  query = { limit: 200 }
  loop do
    uri = URI("https://api.example.com/api/public/v1#{path}?#{URI.encode_www_form(query)}")
    response = Net::HTTP.get_response(uri, "Authorization" => "Bearer YOUR_API_KEY")
    raise response.body unless response.is_a?(Net::HTTPSuccess)

    page = JSON.parse(response.body)
    page["data"].each { |entry| yield entry }
    query[:cursor] = page["next_cursor"]
    break if query[:cursor].nil?
  end
end

read_all("/users") { |member| puts "#{member["id"]} #{member["role"]}" }
