import { describeLack, lacksPublicUrl } from '../../runtime/config.ts';
import { messageOf } from '../../runtime/process.ts';
import { findingOfEnd, readCertificate } from '../certificate.ts';
import { fail, ok, unknown, warn, type Check } from '../check.ts';

/** The certificate that customers see, wherever TLS ends. */
export const publicCertificate: Check = {
  id: 'public_certificate',
  section: 'Rotating secrets',
  needsDatabase: false,
  run: async ({ config, signal }) => {
    if (config === null) return [unknown('the configuration is not valid')];
    if (lacksPublicUrl(config))
      return [warn(describeLack(config), 'Set it to the https address that customers see.')];
    const { protocol, hostname, port } = new URL(config.publicUrl);
    if (protocol !== 'https:') return [ok('PUBLIC_URL is not https')];
    const server = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 443) };
    try {
      const shown = await readCertificate(server, signal);
      const end = findingOfEnd(hostname, shown.endsAt, new Date());
      if (shown.distrust === null || end.level === 'fail') return [end];
      return [
        fail(
          `the certificate of ${hostname} is not trusted here: ${shown.distrust}`,
          'Let the load balancer serve a certificate for this name, with those between it and ' +
            'the authority.',
        ),
      ];
    } catch (error) {
      return [
        warn(
          `PUBLIC_URL cannot be reached from here: ${messageOf(error)}`,
          'Look from outside whether the load balancer answers there.',
        ),
      ];
    }
  },
};
