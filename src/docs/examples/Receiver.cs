using System;
using System.IO;
using System.Linq;
using System.Net;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;

class Receiver
{
    static readonly byte[] Secret =
        Encoding.UTF8.GetBytes(Environment.GetEnvironmentVariable("WEBHOOK_SECRET"));

    static void Main()
    {
        if (Secret.Length == 0) throw new Exception("WEBHOOK_SECRET is missing");
        var listener = new HttpListener();
        listener.Prefixes.Add("http://localhost:4000/");
        listener.Start();
        while (true)
        {
            var context = listener.GetContext();
            try
            {
                Receive(context);
            }
            catch (Exception error)
            {
                // For instance, the sender hung up.
                Console.Error.WriteLine(error.Message);
                context.Response.Abort();
            }
        }
    }

    static void Receive(HttpListenerContext context)
    {
        var body = new MemoryStream();
        context.Request.InputStream.CopyTo(body);
        var signature = context.Request.Headers["Svc-Signature"] ?? "";
        var genuine = IsGenuine(signature, body.ToArray());
        if (genuine) Console.WriteLine(Encoding.UTF8.GetString(body.ToArray()));
        context.Response.StatusCode = genuine ? 204 : 400;
        context.Response.Close();
    }

    static bool IsGenuine(string signature, byte[] body)
    {
        var t = Regex.Match(signature, "^t=([0-9]{1,12})").Groups[1].Value;
        if (t == "") return false;
        var age = DateTimeOffset.UtcNow.ToUnixTimeSeconds() - long.Parse(t);
        if (Math.Abs(age) > 300) return false;
        byte[] hash;
        using (var hmac = new HMACSHA256(Secret))
            hash = hmac.ComputeHash(Encoding.UTF8.GetBytes(t + ".").Concat(body).ToArray());
        var expected = BitConverter.ToString(hash).Replace("-", "").ToLowerInvariant();
        // There are two while a secret is being changed.
        return Regex.Matches(signature, "v1=([0-9a-f]{64})").Cast<Match>()
            .Any(v1 => AreEqual(expected, v1.Groups[1].Value));
    }

    // Takes the same time wherever the two differ.
    static bool AreEqual(string a, string b)
    {
        return a.Zip(b, (x, y) => x ^ y).Aggregate(0, (sum, one) => sum | one) == 0;
    }
}
