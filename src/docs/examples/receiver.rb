require "json"
require "openssl"
require "webrick"

SECRET = ENV["WEBHOOK_SECRET"].to_s
abort "WEBHOOK_SECRET is missing" if SECRET.empty?
$stdout.sync = true

def genuine?(signature, body)
  t = signature[/\At=(\d+)/, 1]
  return false if t.nil? || (Time.now.to_i - t.to_i).abs > 300

  expected = OpenSSL::HMAC.hexdigest("SHA256", SECRET, "#{t}.#{body}")
  # There are two while a secret is being changed.
  signature.scan(/v1=(\h{64})/).flatten.any? do |v1|
    OpenSSL.fixed_length_secure_compare(expected, v1)
  end
end

server = WEBrick::HTTPServer.new(BindAddress: "localhost", Port: 4000)
server.mount_proc "/" do |request, response|
  genuine = genuine?(request["Svc-Signature"].to_s, request.body.to_s)
  if genuine
    event = JSON.parse(request.body)
    puts "#{event["type"]} #{event["data"]}"
  end
  response.status = genuine ? 204 : 400
end
trap("INT") { server.shutdown }
server.start
