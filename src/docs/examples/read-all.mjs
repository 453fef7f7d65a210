const headers = { Authorization: 'Bearer YOUR_API_KEY' };

async function* readAll(path) {
  let cursor = '';
  do {
    const url = `https://api.example.com/api/public/v1${path}?limit=200${cursor}`;
    const response = await fetch(url, { headers });
    if (!response.ok) throw new Error(await response.text());
    const page = await response.json();
    yield* page.data;
    cursor = page.next_cursor && `&cursor=${encodeURIComponent(page.next_cursor)}`;
  } while (cursor);
}

for await (const member of readAll('/users')) console.log(member.id, member.role);
