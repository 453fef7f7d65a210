/** The texts of the page that opens a link. The build writes them into its documents. */
import type { PageLanguage } from './languages.ts';

const en = {
  title: 'A secret for you',
  ask:
    'Somebody has handed you an API key, or the secret of a webhook. You can see it once: after ' +
    'that, this link opens nothing any more. So have the place at hand where your program keeps ' +
    'its secrets.',
  show: 'Show the secret',
  titleOfKey: 'A key for you',
  shown: 'Copy the key now to where your program keeps its secrets. It is not shown again.',
  testKey: 'This is a test key. It opens the sandbox of the team, where nothing is real.',
  name: 'Name of the key',
  titleOfEndpoint: 'The secret of a webhook for you',
  shownOfEndpoint:
    'We sign with it what we send to this address. Copy it now to where your server keeps its ' +
    'secrets. It is not shown again.',
  testEndpoint: 'The endpoint is in the sandbox of the team: it gets events that are not real.',
  url: 'Address of the endpoint',
  verify:
    'Accept a delivery only if v1 in its header Svc-Signature is the HMAC-SHA256 of t, a point ' +
    'and the raw body, with this whole secret as the key.',
  howToVerify: 'How to check the signature',
  docsPath: '',
  verifyPath: '/webhooks#verify',
  copy: 'Copy',
  copied: 'Copied',
  copyFailed: 'The browser does not allow it. Select the secret and copy it.',
  docs: 'How to use it: the documentation',
  gone: 'This link opens nothing',
  goneHint:
    'It was opened before, it is older than an hour, it was withdrawn, or the secret was ' +
    'replaced. Ask the person who sent it for a new link.',
  goneWarning:
    'If it was not you who opened it, say so: somebody else may know the secret, and it should ' +
    'be replaced.',
  broken: 'This link is not complete',
  brokenHint: 'Copy all of it, up to its last character, or ask for it again.',
  failed: 'The service did not answer',
  failedHint:
    'Try it again. If the answer was lost on its way, the link is used up, and you need a new one.',
  busy: 'There are too many requests at the moment. The link is unused: try it again in a minute.',
  again: 'Try again',
  unable: 'This browser cannot open the link',
  unableHint: 'It needs an address that begins with https, and a current browser.',
  noScript:
    'This page needs JavaScript: the secret is decrypted in your browser, and nowhere else.',
};

const de: typeof en = {
  title: 'Ein Geheimnis für Sie',
  ask:
    'Jemand hat Ihnen einen API-Schlüssel oder das Geheimnis eines Webhooks übergeben. Sie ' +
    'können es einmal sehen: Danach öffnet dieser Link nichts mehr. Halten Sie also den Ort ' +
    'bereit, an dem Ihr Programm seine Geheimnisse aufbewahrt.',
  show: 'Geheimnis anzeigen',
  titleOfKey: 'Ein Schlüssel für Sie',
  shown:
    'Kopieren Sie den Schlüssel jetzt dorthin, wo Ihr Programm seine Geheimnisse aufbewahrt. Er ' +
    'wird nicht noch einmal angezeigt.',
  testKey: 'Das ist ein Testschlüssel. Er öffnet die Sandbox des Teams, in der nichts echt ist.',
  name: 'Name des Schlüssels',
  titleOfEndpoint: 'Das Geheimnis eines Webhooks für Sie',
  shownOfEndpoint:
    'Damit signieren wir, was wir an diese Adresse schicken. Kopieren Sie es jetzt dorthin, wo ' +
    'Ihr Server seine Geheimnisse aufbewahrt. Es wird nicht noch einmal angezeigt.',
  testEndpoint:
    'Der Endpunkt gehört zur Sandbox des Teams: Er bekommt Ereignisse, die nicht echt sind.',
  url: 'Adresse des Endpunkts',
  verify:
    'Nehmen Sie eine Zustellung nur an, wenn v1 in ihrem Header Svc-Signature der HMAC-SHA256 ' +
    'von t, einem Punkt und dem rohen Body ist, mit diesem ganzen Geheimnis als Schlüssel.',
  howToVerify: 'So wird die Signatur geprüft',
  docsPath: '/de',
  verifyPath: '/de/webhooks#verify',
  copy: 'Kopieren',
  copied: 'Kopiert',
  copyFailed: 'Der Browser erlaubt es nicht. Markieren Sie das Geheimnis und kopieren Sie es.',
  docs: 'So wird er benutzt: zur Dokumentation',
  gone: 'Dieser Link öffnet nichts',
  goneHint:
    'Er wurde schon geöffnet, ist älter als eine Stunde, wurde zurückgezogen, oder das Geheimnis ' +
    'wurde ersetzt. Bitten Sie die Person, von der Sie ihn haben, um einen neuen Link.',
  goneWarning:
    'Wenn nicht Sie ihn geöffnet haben, sagen Sie das: Dann kennt vielleicht jemand anderes das ' +
    'Geheimnis, und es sollte ersetzt werden.',
  broken: 'Dieser Link ist nicht vollständig',
  brokenHint: 'Kopieren Sie ihn ganz, bis zum letzten Zeichen, oder bitten Sie noch einmal darum.',
  failed: 'Der Dienst hat nicht geantwortet',
  failedHint:
    'Versuchen Sie es noch einmal. Ging die Antwort unterwegs verloren, ist der Link verbraucht, ' +
    'und Sie brauchen einen neuen.',
  busy:
    'Im Moment gibt es zu viele Anfragen. Der Link ist unbenutzt: Versuchen Sie es in einer ' +
    'Minute noch einmal.',
  again: 'Noch einmal versuchen',
  unable: 'Dieser Browser kann den Link nicht öffnen',
  unableHint: 'Nötig sind eine Adresse, die mit https beginnt, und ein aktueller Browser.',
  noScript:
    'Diese Seite braucht JavaScript: Das Geheimnis wird in Ihrem Browser entschlüsselt und ' +
    'nirgends sonst.',
};

export type HandoverTexts = typeof en;

export const HANDOVER_TEXTS: Readonly<Record<PageLanguage, HandoverTexts>> = { de, en };
