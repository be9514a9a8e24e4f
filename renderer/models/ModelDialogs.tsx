import type { LibraryDownload, LibraryModel } from '../../electron/gateway/memberApi.ts';
import { formatBytes } from '../../electron/planner/formatBytes.ts';
import { ConfirmDialog } from '../controls/ConfirmDialog.tsx';
import { TextDialog } from '../controls/TextDialog.tsx';
import { callMember } from '../member/memberStore.ts';

/** What is being asked about models. */
export type ModelDialog =
  | { kind: 'import' }
  | { kind: 'pull' }
  | { kind: 'remove'; model: LibraryModel }
  | { kind: 'discard'; download: LibraryDownload }
  | { kind: 'stop'; model: string };

/** The dialogs of the models' page. */
export function ModelDialogs({ dialog, onClose }: { dialog: ModelDialog; onClose: () => void }) {
  switch (dialog.kind) {
    case 'import':
      return (
        <TextDialog
          title="Add a model of this machine's disk"
          label="Path of a GGUF, or of a folder to watch"
          initial=""
          action="Add"
          onSubmit={(path) => callMember('importModel', { path })}
          onClose={onClose}
        >
          It stays where it is. You can also drop files anywhere on this window.
        </TextDialog>
      );
    case 'pull':
      return (
        <TextDialog
          title="Download a model"
          label="Address, or hf:user/repository:quantisation"
          initial=""
          action="Download"
          onSubmit={(reference) => callMember('pullModel', { reference })}
          onClose={onClose}
        />
      );
    case 'remove': {
      const { id, name, origin, files } = dialog.model;
      const deletes = origin === 'downloaded' || origin === 'dropped';
      return (
        <ConfirmDialog
          title={`Delete ${name}?`}
          action="Delete"
          onConfirm={() => callMember('removeModel', { model: id })}
          onClose={onClose}
        >
          {deletes
            ? `Its ${files.length === 1 ? 'file is' : `${files.length} files are`} deleted from this machine's disk.`
            : 'It leaves the library; its file stays where it is.'}
        </ConfirmDialog>
      );
    }
    case 'discard': {
      const { id, reference, bytes } = dialog.download;
      return (
        <ConfirmDialog
          title={`Discard ${reference}?`}
          action="Discard"
          onConfirm={() => callMember('stopPull', { download: id, discard: true })}
          onClose={onClose}
        >
          {`The ${formatBytes(bytes)} that have arrived are deleted, and a new download begins from the start.`}
        </ConfirmDialog>
      );
    }
    case 'stop':
      return (
        <ConfirmDialog
          title={`Stop ${dialog.model}?`}
          action="Stop"
          onConfirm={() => callMember('stop', { model: dialog.model })}
          onClose={onClose}
        >
          It ends for everyone in the pool. Answers that run have 30 seconds to end.
        </ConfirmDialog>
      );
  }
}
