# SECRET: the secret that your receiver uses, any text. RECEIVER: the address of your receiver.
# body.json: an event, for instance one of those below.
t=$(date +%s)
v1=$({ printf '%s.' "$t"; cat body.json; } |
  openssl dgst -sha256 -hmac "$SECRET" -r | cut -d ' ' -f 1)

curl --include --data-binary @body.json --header 'Content-Type: application/json' \
  --header "Svc-Signature: t=$t,v1=$v1" --header 'Svc-Event-Id: evt_example' "$RECEIVER"
