# SECRET: the secret of the webhook endpoint, including whsec_. SIGNATURE: the header Svc-Signature.
# body.json: the body, byte for byte.
t=$(printf '%s' "$SIGNATURE" | sed -n 's/^t=\([0-9]*\),.*/\1/p')
expected=$({ printf '%s.' "$t"; cat body.json; } |
  openssl dgst -sha256 -hmac "$SECRET" -r | cut -d ' ' -f 1)
[ -n "$expected" ] || exit 3

# There are two v1 while a secret is being changed.
case "$SIGNATURE," in
  *",v1=$expected,"*) ;;
  *) echo 'forged'; exit 1 ;;
esac
if [ $(($(date +%s) - t)) -gt 300 ]; then echo 'genuine, but older than five minutes'; exit 2; fi
echo 'genuine'
