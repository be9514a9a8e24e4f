import { Lan } from '../lan.ts';

/** Makes a LAN of one machine with a process on it, says its id, and waits to be killed. */
const lan = await Lan.create(1);
process.stdout.write(`pid ${lan.machine(1).start('sleep', ['600']).pid}\n`);
setInterval(() => {}, 60_000);
