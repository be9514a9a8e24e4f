import { askMember } from '../../../electron/cli/callMember.ts';

/** Says what the member of a data folder answers to everything that it may be asked (arguments: HOME PATH ...). */
const [home = '', ...paths] = process.argv.slice(2);
for (const path of paths) {
  const response = await askMember(home, path, path.startsWith('/api/member/') ? { method: 'POST' } : {});
  process.stdout.write(`${await response.text()}\n`);
}
