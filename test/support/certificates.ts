// Certificates for tests. Those of the authority are valid from 2020 to 2120. Only tests that call
// `trustTestAuthority` trust them. The key of their authority was thrown away.
import { createPublicKey, sign } from 'node:crypto';

/** The certificate of the authority. */
export const AUTHORITY = `-----BEGIN CERTIFICATE-----
MIIBWDCB/6ADAgECAhQLRWfjzh5qzCxBH3NoD4yhpALapTAKBggqhkjOPQQDAjAh
MR8wHQYDVQQDDBZBdXRob3JpdHkgb2YgdGhlIHRlc3RzMCAXDTIwMDEwMTAwMDAw
MFoYDzIxMjAwMTAxMDAwMDAwWjAhMR8wHQYDVQQDDBZBdXRob3JpdHkgb2YgdGhl
IHRlc3RzMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEwclOAQFsqGrj6O0xd8fO
2Gwokx7oOrRTQhf+oNvKnG1k0tFSZoQpZtFemDbfS5UriuSDpGOEey+TUcWRb/2O
rKMTMBEwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEAoisNWAl3
nLaIjsgdCYS7293meG/kE6IQyTtWTUNLR3YCIEuYv6yWrqBpx8u3ic4BDxugpUse
XIYnpX+ZJy/C0fxj
-----END CERTIFICATE-----
`;

/** The private key of all certificates below. */
export const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgIyi1JEyyc7SpKMx3
E4VGighb7mVsnKkTnnGpRprgGFGhRANCAARxf7AOCHJwzy/b3dC4HqQCMibLFbi6
dcRf7IGoZIlELGwh8pw0UUhXNRnRfQ5GU2fV2+D94NW1axAUS07J1UkN
-----END PRIVATE KEY-----
`;

/** For `receiver.test`, issued by the authority. */
export const GOOD = `-----BEGIN CERTIFICATE-----
MIIBZzCCAQ2gAwIBAgIUfE1lEedFqFDjaEtZXnzpHNAtm4MwCgYIKoZIzj0EAwIw
ITEfMB0GA1UEAwwWQXV0aG9yaXR5IG9mIHRoZSB0ZXN0czAgFw0yMDAxMDEwMDAw
MDBaGA8yMTIwMDEwMTAwMDAwMFowGDEWMBQGA1UEAwwNcmVjZWl2ZXIudGVzdDBZ
MBMGByqGSM49AgEGCCqGSM49AwEHA0IABHF/sA4IcnDPL9vd0LgepAIyJssVuLp1
xF/sgahkiUQsbCHynDRRSFc1GdF9DkZTZ9Xb4P3g1bVrEBRLTsnVSQ2jKjAoMAwG
A1UdEwEB/wQCMAAwGAYDVR0RBBEwD4INcmVjZWl2ZXIudGVzdDAKBggqhkjOPQQD
AgNIADBFAiArGGrwxj/74VEloPHDMD/mO166gCIpP/XeFfGfVhKXLwIhAJA861bV
S8JshikXdWpUWHtk7+QZniKvTBMGP1nGrFrY
-----END CERTIFICATE-----
`;

/** For `other.test`, issued by the authority. */
export const OF_ANOTHER_NAME = `-----BEGIN CERTIFICATE-----
MIIBYTCCAQegAwIBAgIUe+CgotVfPuVanqmTOgdb48NareMwCgYIKoZIzj0EAwIw
ITEfMB0GA1UEAwwWQXV0aG9yaXR5IG9mIHRoZSB0ZXN0czAgFw0yMDAxMDEwMDAw
MDBaGA8yMTIwMDEwMTAwMDAwMFowFTETMBEGA1UEAwwKb3RoZXIudGVzdDBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABHF/sA4IcnDPL9vd0LgepAIyJssVuLp1xF/s
gahkiUQsbCHynDRRSFc1GdF9DkZTZ9Xb4P3g1bVrEBRLTsnVSQ2jJzAlMAwGA1Ud
EwEB/wQCMAAwFQYDVR0RBA4wDIIKb3RoZXIudGVzdDAKBggqhkjOPQQDAgNIADBF
AiBd25V+7BHTu9OwIb+KAsxfFiyDN8erEUnR/szlz80WdgIhALgw5gn+1qS1A0ni
MCS9b5zksh+jdzQq/gabPTLdbFQ4
-----END CERTIFICATE-----
`;

/** For `receiver.test`, issued by the authority, expired in 2021. */
export const EXPIRED = `-----BEGIN CERTIFICATE-----
MIIBZjCCAQugAwIBAgIUElKfQpWv+H0oVgSATfEWFJ2x4gMwCgYIKoZIzj0EAwIw
ITEfMB0GA1UEAwwWQXV0aG9yaXR5IG9mIHRoZSB0ZXN0czAeFw0yMDAxMDEwMDAw
MDBaFw0yMTAxMDEwMDAwMDBaMBgxFjAUBgNVBAMMDXJlY2VpdmVyLnRlc3QwWTAT
BgcqhkjOPQIBBggqhkjOPQMBBwNCAARxf7AOCHJwzy/b3dC4HqQCMibLFbi6dcRf
7IGoZIlELGwh8pw0UUhXNRnRfQ5GU2fV2+D94NW1axAUS07J1UkNoyowKDAMBgNV
HRMBAf8EAjAAMBgGA1UdEQQRMA+CDXJlY2VpdmVyLnRlc3QwCgYIKoZIzj0EAwID
SQAwRgIhAIrEMXNeBs4ySESUsqKRO7DTnc8UwtvT1v336e/haH8mAiEAnQp6wgqA
su/2OG1VKRmMrvgtDBJMzkyLygilb+oQx5k=
-----END CERTIFICATE-----
`;

/** For `receiver.test`, self-signed. */
export const SELF_SIGNED = `-----BEGIN CERTIFICATE-----
MIIBXzCCAQSgAwIBAgIUKbeg6BywRyXhbSFrUpGg7nUaO0YwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNcmVjZWl2ZXIudGVzdDAgFw0yMDAxMDEwMDAwMDBaGA8yMTIw
MDEwMTAwMDAwMFowGDEWMBQGA1UEAwwNcmVjZWl2ZXIudGVzdDBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABHF/sA4IcnDPL9vd0LgepAIyJssVuLp1xF/sgahkiUQs
bCHynDRRSFc1GdF9DkZTZ9Xb4P3g1bVrEBRLTsnVSQ2jKjAoMAwGA1UdEwEB/wQC
MAAwGAYDVR0RBBEwD4INcmVjZWl2ZXIudGVzdDAKBggqhkjOPQQDAgNJADBGAiEA
6883Vp+mZLm78gR3MTDeqarNKMgklX6AuW6xulYGtQ8CIQD7ZL2X4bbX0MWhaMxr
1oTUSl1FaUFmZ1w3FkjEaYJRcQ==
-----END CERTIFICATE-----
`;

const TAG = { integer: 2, bits: 3, octets: 4, oid: 6, utf8: 12, time: 24, sequence: 48, set: 49 };
/** In DER, as X.509 writes them. */
const ECDSA_WITH_SHA256 = '2a8648ce3d040302';
const COMMON_NAME = '550403';
const SUBJECT_ALT_NAME = '551d11';

/** A self-signed certificate with {@link KEY} for an IPv4 address; `node:crypto` makes none. */
export function selfSigned(address: string, endsAt: Date): string {
  const algorithm = der(TAG.sequence, oid(ECDSA_WITH_SHA256));
  const common = der(TAG.sequence, oid(COMMON_NAME), der(TAG.utf8, Buffer.from(address)));
  const name = der(TAG.sequence, der(TAG.set, common));
  const dates = der(TAG.sequence, timeOf(new Date('2020-01-01T00:00:00Z')), timeOf(endsAt));
  const alternative = der(0x87, Buffer.from(address.split('.').map(Number)));
  const names = der(TAG.octets, der(TAG.sequence, alternative));
  const extension = der(TAG.sequence, oid(SUBJECT_ALT_NAME), names);
  const body = der(
    TAG.sequence,
    der(0xa0, der(TAG.integer, Buffer.of(2))),
    der(TAG.integer, Buffer.of(1)),
    algorithm,
    name,
    dates,
    name,
    createPublicKey(KEY).export({ type: 'spki', format: 'der' }),
    der(0xa3, der(TAG.sequence, extension)),
  );
  const signature = der(TAG.bits, Buffer.of(0), sign('sha256', body, KEY));
  const text = der(TAG.sequence, body, algorithm, signature).toString('base64');
  const lines = text.match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

const oid = (hex: string): Buffer => der(TAG.oid, Buffer.from(hex, 'hex'));
const timeOf = (at: Date): Buffer =>
  der(TAG.time, Buffer.from(at.toISOString().replaceAll(/[-T:]|\.\d+/g, '')));

/** One value of DER: its tag, its length and its content. */
function der(tag: number, ...content: Buffer[]): Buffer {
  const bytes = Buffer.concat(content);
  const { length } = bytes;
  const size = length < 128 ? [length] : [0x82, length >> 8, length & 255];
  if (length > 127 && length < 256) size.splice(0, 3, 0x81, length);
  return Buffer.concat([Buffer.of(tag, ...size), bytes]);
}
