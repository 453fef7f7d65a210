import type { Localized } from './language.ts';

/**
 * Why an attempt of a delivery failed without an answer that counts, by the word that a row of
 * `webhook_delivery` holds (`error`, `failed_attempts`), and what it means. An open set: the rows
 * of another version may hold other words.
 */
const MEANINGS_BY_ERROR = {
  target_not_public: {
    de: 'den Namen gibt es nicht, oder er führt zu einer privaten Adresse oder zu mehr als 64',
    en: 'the name does not exist, or leads to a private address or to more than 64',
  },
  name_not_resolved: {
    de: 'der Hostname ließ sich nicht auflösen (DNS)',
    en: 'the host name could not be resolved (DNS)',
  },
  timeout: {
    de: 'keine vollständige Antwort binnen 10 Sekunden',
    en: 'no complete response within 10 seconds',
  },
  connection_refused: {
    de: 'an der Adresse ist kein Server erreichbar',
    en: 'no server listens at the address',
  },
  connection_closed: {
    de: 'die Verbindung wurde vor der vollständigen Antwort geschlossen',
    en: 'the connection closed before the response was complete',
  },
  host_unreachable: {
    de: 'der Server ist nicht erreichbar',
    en: 'the server is unreachable',
  },
  connection_failed: {
    de: 'die Verbindung schlug aus einem anderen Grund fehl',
    en: 'the connection failed for another reason',
  },
  tls_unknown_issuer: {
    de: 'der Aussteller ist unbekannt, oder das Zwischenzertifikat fehlt',
    en: 'the issuer is unknown, or the intermediate certificate is missing',
  },
  tls_certificate_expired: {
    de: 'das Zertifikat ist abgelaufen oder gilt noch nicht',
    en: 'the certificate has expired or is not valid yet',
  },
  tls_wrong_name: {
    de: 'das Zertifikat gilt für einen anderen Namen',
    en: 'the certificate is for another name',
  },
  tls_version: {
    de: 'der Server spricht weder TLS 1.2 noch 1.3',
    en: 'the server speaks neither TLS 1.2 nor 1.3',
  },
  tls_error: {
    de: 'kein TLS am Port, ein ungültiges Zertifikat oder eines über 24 KB',
    en: 'no TLS at the port, an invalid certificate, or one over 24 KB',
  },
  invalid_response: {
    de: 'die Antwort ist kein HTTP/1.1 oder hat kein Ende',
    en: 'the response is not HTTP/1.1, or has no end',
  },
  invalid_headers: {
    de: 'ein fehlerhafter Header in der Antwort, oder zweimal Content-Length',
    en: 'a malformed response header, or two Content-Length',
  },
  response_headers_too_large: {
    de: 'die Header der Antwort sind größer als 16 KB',
    en: 'the response headers are larger than 16 KB',
  },
  simulated: {
    de: 'in einer Sandbox simuliert; der Empfänger bekam keine Anfrage',
    en: 'simulated in a sandbox; the receiver got no request',
  },
  internal: {
    de: 'ein Fehler auf unserer Seite',
    en: 'an error on our side',
  },
} as const satisfies Readonly<Record<string, Localized>>;

export type DeliveryError = keyof typeof MEANINGS_BY_ERROR;

export const ERROR_MEANINGS: Readonly<Record<DeliveryError, Localized>> = MEANINGS_BY_ERROR;
export const DELIVERY_ERRORS = Object.keys(ERROR_MEANINGS) as readonly DeliveryError[];
