/** The far end of the `links` bench: a process that sends back whatever comes. */
import { once } from 'node:events';
import { echoOrderSchema, follow, serve } from './links.ts';

const { tls, member, address } = echoOrderSchema.parse((await once(process, 'message'))[0]);
const { outlet, server } = await serve(tls, { position: 1, follower: member });
process.send?.(server.address);
for await (const frame of await follow(tls, { member, address, position: 0 })) await outlet.send(frame);
process.exit(0);
