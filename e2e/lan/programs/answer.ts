import { readFileSync } from 'node:fs';
import { tlsMaterialSchema } from '../../../electron/wire/tlsMaterial.ts';
import { WireServer } from '../../../electron/wire/wireServer.ts';

/** Listens as a member on port 7000, all addresses; the argument is a file with its TLS material. */
const tls = tlsMaterialSchema.parse(JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')));
await WireServer.start({ tls, host: '::', port: 7000, services: [] });
process.stdout.write('listening\n');
