#!/usr/bin/env node
// Every user of the machine can read the arguments, and these hold a token: the title takes their place, before the rest loads.
if (process.argv[2] === 'join') process.title = 'roomful join';

const { runCommand } = await import('./runCommand.ts');
await runCommand();
