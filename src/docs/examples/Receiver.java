import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.HexFormat;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Receiver {
  static final byte[] SECRET = System.getenv("WEBHOOK_SECRET").getBytes(UTF_8);

  public static void main(String[] args) throws Exception {
    var server = HttpServer.create(new InetSocketAddress("localhost", 4000), 0);
    server.createContext("/", exchange -> {
      var body = exchange.getRequestBody().readAllBytes();
      var signature = exchange.getRequestHeaders().getFirst("Svc-Signature");
      var genuine = isGenuine(signature == null ? "" : signature, body);
      if (genuine) System.out.println(new String(body, UTF_8));
      exchange.sendResponseHeaders(genuine ? 204 : 400, -1);
      exchange.close();
    });
    server.start();
  }

  static boolean isGenuine(String signature, byte[] body) {
    var t = Pattern.compile("^t=(\\d{1,12})").matcher(signature);
    if (!t.find()) return false;
    var age = Instant.now().getEpochSecond() - Long.parseLong(t.group(1));
    if (Math.abs(age) > 300) return false;
    var expected = sign(t.group(1), body);
    // There are two while a secret is being changed.
    return Pattern.compile("v1=([0-9a-f]{64})").matcher(signature).results()
        .anyMatch(v1 -> MessageDigest.isEqual(expected, HexFormat.of().parseHex(v1.group(1))));
  }

  static byte[] sign(String t, byte[] body) {
    try {
      var mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(SECRET, "HmacSHA256"));
      mac.update((t + ".").getBytes(UTF_8));
      return mac.doFinal(body);
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException(error);
    }
  }
}
