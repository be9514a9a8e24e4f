import { openIdentity } from '../../../electron/pool/identity.ts';
import { openTlsMaterial } from '../../../electron/pool/poolCertificate.ts';
import { parseWays } from '../../../electron/pool/profile/profileMessage.ts';
import { watchProfile } from '../../../electron/wire/watchProfile.ts';

/** Says, as the member of a data folder, which ways another one has measured (arguments: HOME MEMBER ADDRESS). */
const [home = '', member = '', address = ''] = process.argv.slice(2);
const tls = await openTlsMaterial(home, await openIdentity(home));
const { value } = await watchProfile({ member, address, tls }).next();
process.stdout.write(JSON.stringify(value ? parseWays(value) : []));
process.exit(0);
