import { readFileSync } from 'node:fs';

const LISTENS = '0A';
const LOOPBACK = '0100007F';

/** The TCP ports at which anything in the network namespace of a process listens, those on loopback aside. */
export function openPorts(pid: number): number[] {
  const ports = ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8')
      .split('\n')
      .slice(1)
      .flatMap((line) => {
        const [, local = '', , state] = line.trim().split(/\s+/);
        const [address, port = ''] = local.split(':');
        return state === LISTENS && address !== LOOPBACK ? [Number.parseInt(port, 16)] : [];
      }),
  );
  return [...new Set(ports)].sort((one, other) => one - other);
}
