import { useState } from 'react';
import { Icon } from '../controls/Icon.tsx';
import { IconButton } from '../controls/IconButton.tsx';
import { useMember } from '../member/memberStore.ts';
import { bringPool } from './bringPool.ts';
import { addMember, arrangeRoom, compare, redoChange, undoChange, usePlayground } from './playgroundStore.ts';
import { ServeButton } from './ServeButton.tsx';
import { ShareDialog } from './ShareDialog.tsx';

/** What one can do with the room as a whole. */
export function Toolbar() {
  const canUndo = usePlayground(({ history }) => history.past.length > 0);
  const canRedo = usePlayground(({ history }) => history.future.length > 0);
  const comparing = usePlayground(({ compared }) => compared !== null);
  const hasPool = useMember(({ pool }) => pool !== null);
  const [sharing, setSharing] = useState(false);
  return (
    <>
      <IconButton icon="undo" label="Undo" disabled={!canUndo} onClick={undoChange} />
      <IconButton icon="redo" label="Redo" disabled={!canRedo} onClick={redoChange} />
      <button type="button" className="quiet-button" onClick={addMember}>
        <Icon name="plus" /> Add a member
      </button>
      <button type="button" className="quiet-button" disabled={!hasPool} onClick={bringPool}>
        Use the pool
      </button>
      <button type="button" className="quiet-button" onClick={arrangeRoom}>
        Arrange
      </button>
      <button type="button" className="quiet-button" aria-pressed={comparing} onClick={() => compare(!comparing)}>
        Compare
      </button>
      <button type="button" className="quiet-button" onClick={() => setSharing(true)}>
        Share
      </button>
      <ServeButton />
      {sharing && <ShareDialog onClose={() => setSharing(false)} />}
    </>
  );
}
