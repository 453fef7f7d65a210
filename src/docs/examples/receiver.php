<?php
function is_genuine(string $signature, string $body, string $secret): bool
{
    if (!preg_match('/^t=(\d+)/', $signature, $t) || abs(time() - (int) $t[1]) > 300) {
        return false;
    }
    $expected = hash_hmac('sha256', "$t[1].$body", $secret);
    // There are two while a secret is being changed.
    preg_match_all('/v1=([0-9a-f]{64})/', $signature, $given);
    foreach ($given[1] as $v1) {
        if (hash_equals($expected, $v1)) return true;
    }
    return false;
}

$secret = getenv('WEBHOOK_SECRET');
if (!$secret) {
    http_response_code(500);
    exit('WEBHOOK_SECRET is missing');
}
$body = file_get_contents('php://input');
if (!is_genuine($_SERVER['HTTP_SVC_SIGNATURE'] ?? '', $body, $secret)) {
    http_response_code(400);
    exit;
}
$event = json_decode($body, true);
error_log($event['type'] . ' ' . json_encode($event['data']));
http_response_code(204);
