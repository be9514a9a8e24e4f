import { createSocket, type SocketType } from 'node:dgram';

/** Says every packet that anybody sends to the mDNS groups (RFC 6762), a line of base64 each. */
const GROUPS: readonly (readonly [SocketType, string, string])[] = [
  ['udp4', '224.0.0.251', process.argv[2] ?? ''],
  ['udp6', 'ff02::fb', '::%eth0'],
];

for (const [type, group, card] of GROUPS) {
  const socket = createSocket({ type, reuseAddr: true, ipv6Only: type === 'udp6' });
  socket.on('message', (packet) => process.stdout.write(`${packet.toString('base64')}\n`));
  await new Promise<void>((resolve) => socket.bind(5353, resolve));
  socket.addMembership(group, card);
}
process.stdout.write('listening\n');
