# SECRET: the secret of the webhook endpoint, including whsec_. SIGNATURE: the header Svc-Signature.
# body.json: the body, byte for byte.
t=$(printf '%s' "$SIGNATURE" | sed -n 's/^t=\([0-9]*\),v1=[0-9a-f]*$/\1/p')
v1=$(printf '%s' "$SIGNATURE" | sed -n 's/^t=[0-9]*,v1=\([0-9a-f]*\)$/\1/p')
expected=$({ printf '%s.' "$t"; cat body.json; } |
  openssl dgst -sha256 -hmac "$SECRET" -r | cut -d ' ' -f 1)

if [ -z "$v1" ] || [ "$v1" != "$expected" ]; then echo 'forged'; exit 1; fi
if [ $(($(date +%s) - t)) -gt 300 ]; then echo 'genuine, but older than five minutes'; exit 2; fi
echo 'genuine'
