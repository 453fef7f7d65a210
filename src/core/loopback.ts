/** Whether a host name of a URL or of the header `Host`, without its port, means this machine. */
export function isLoopbackHost(host: string): boolean {
  return /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i.test(host);
}
