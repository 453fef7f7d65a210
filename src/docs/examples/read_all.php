<?php
function read_all(string $path): Generator
{
    $query = ['limit' => 200];
    do {
        $url = "https://api.example.com/api/public/v1$path?" . http_build_query($query);
        $curl = curl_init($url);
        curl_setopt_array($curl, [
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_FAILONERROR => true,
            CURLOPT_HTTPHEADER => ['Authorization: Bearer YOUR_API_KEY'],
        ]);
        $response = curl_exec($curl);
        if ($response === false) throw new Exception(curl_error($curl));
        $page = json_decode($response, true);
        yield from $page['data'];
        $query['cursor'] = $page['next_cursor'];
    } while ($query['cursor'] !== null);
}

foreach (read_all('/users') as $member) {
    echo $member['id'], ' ', $member['role'], "\n";
}
