/** Where nothing that a stranger runs may connect to, as a firewall reads it: what is not public, and what leads elsewhere. Must not know firewalls. */

export const refused4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
] as const;

/** Everything outside of it is refused. */
export const public6 = '2000::/3';
/** The parts of it that wrap or tunnel. */
export const refused6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'] as const;
