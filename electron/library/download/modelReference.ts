import { LibraryError } from '../libraryError.ts';

/** What can be downloaded: a model of the hub, by quantisation or by file, or a file anywhere. */
export type ModelReference =
  | {
      kind: 'hub';
      user: string;
      repository: string;
      quantisation: string | null;
      file: string | null;
      revision: string;
    }
  | { kind: 'url'; url: string };

const HOW = 'Give hf:USER/REPOSITORY:QUANT, hf:USER/REPOSITORY/FILE.gguf, or the https address of a .gguf file.';
const HUB_HOSTS = ['huggingface.co', 'www.huggingface.co', 'hf.co'];

/**
 * Reads what people type or copy: `hf:user/repository[:quant]`, `hf:user/repository/path/file.gguf[#revision]`, an address
 * of the hub's pages, or any http(s) address. Throws LibraryError('BadReference').
 */
export function parseModelReference(text: string): ModelReference {
  const given = text.trim();
  const [, scheme, rest] = /^(hf|huggingface|https?):(?:\/\/)?(.*)$/is.exec(given) ?? [];
  if (scheme === undefined || rest === undefined) throw badReference(given);
  if (!/^http/i.test(scheme)) return hubReference(given, rest);
  if (!URL.canParse(given)) throw badReference(given);
  const url = new URL(given);
  if (url.username !== '' || url.password !== '') {
    throw new LibraryError('BadReference', 'An address with a password in it is not taken. Leave the password out.');
  }
  return HUB_HOSTS.includes(url.hostname) ? hubPage(given, url) : { kind: 'url', url: url.href };
}

/** A folder's name for a model's files: `user--repository`, or the host. */
export function folderOf(reference: ModelReference): string {
  const name =
    reference.kind === 'hub' ? `${reference.user}--${reference.repository}` : new URL(reference.url).hostname;
  return name.replaceAll(/[^\w.-]/g, '_').replace(/^\.+/, '_');
}

function hubReference(given: string, rest: string): ModelReference {
  const [path = '', revision = 'main'] = rest.split('#', 2);
  const [user = '', named = '', ...file] = path.split('/');
  const [repository = '', quantisation] = named.split(':', 2);
  const isName = (name: string): boolean => /^[\w.-]+$/.test(name) && !/^\.+$/.test(name);
  const isFile = file.every((part) => part !== '' && !/^\.+$/.test(part));
  if (!isName(user) || !isName(repository) || !isFile || !/^[\w./-]+$/.test(revision)) throw badReference(given);
  if (quantisation !== undefined && (file.length > 0 || !/^[\w.-]+$/.test(quantisation))) throw badReference(given);
  const name = file.length > 0 ? file.join('/') : null;
  if (name !== null && !/\.gguf$/i.test(name)) throw badReference(given);
  return { kind: 'hub', user, repository, quantisation: quantisation ?? null, file: name, revision };
}

/** `/user/repository`, or `/user/repository/blob|resolve/revision/file`. */
function hubPage(given: string, url: URL): ModelReference {
  const [user = '', repository = '', kind, revision, ...file] = url.pathname
    .slice(1)
    .split('/')
    .map(decodeURIComponent);
  if (kind === undefined || kind === '') return hubReference(given, `${user}/${repository}`);
  if (!/^(blob|resolve)$/.test(kind) || revision === undefined) throw badReference(given);
  return hubReference(given, `${user}/${repository}/${file.join('/')}#${revision}`);
}

function badReference(given: string): LibraryError {
  return new LibraryError('BadReference', `'${given.slice(0, 200)}' names no model that can be downloaded. ${HOW}`);
}
