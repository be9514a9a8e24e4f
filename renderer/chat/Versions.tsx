import type { ChatMessage } from '../../electron/gateway/memberApi.ts';
import { IconButton } from '../controls/IconButton.tsx';
import { chat, useChat } from './chat.ts';
import { versionsOf } from './thread.ts';

/** Walks through the versions of a message, where there are several. */
export function Versions({ message }: { message: ChatMessage }) {
  const history = useChat((store) => store.shown.history);
  const versions = versionsOf(history, message);
  if (versions.length < 2) return null;
  const at = versions.findIndex(({ id }) => id === message.id);
  const show = (index: number) => {
    const version = versions[index];
    if (version !== undefined) void chat.showVersion(version.id);
  };
  return (
    <span className="versions">
      <IconButton icon="left" label="Earlier version" disabled={at <= 0} onClick={() => show(at - 1)} />
      <span className="number">
        {at + 1} / {versions.length}
      </span>
      <IconButton
        icon="right"
        label="Later version"
        disabled={at >= versions.length - 1}
        onClick={() => show(at + 1)}
      />
    </span>
  );
}
