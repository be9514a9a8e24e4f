import { useEffect, useState } from 'react';
import { Icon } from '../controls/Icon.tsx';
import { goTo } from '../shell/route.ts';
import { takeFiles } from './dropStore.ts';
import './DropZone.css';

/** Takes files that are dropped anywhere on the window, and says so while they hover over it. */
export function DropZone() {
  const hovers = useDrops();
  if (!hovers) return null;
  return (
    <div className="drop-zone" aria-hidden="true">
      <div>
        <Icon name="models" />
        <p>Drop a GGUF, or all files of a split one, to take it in</p>
      </div>
    </div>
  );
}

function useDrops(): boolean {
  const [hovers, setHovers] = useState(false);
  useEffect(() => {
    const holdsFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
    const onOver = (event: DragEvent) => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      setHovers(true);
    };
    const onLeave = (event: DragEvent) => {
      if (event.relatedTarget === null) setHovers(false);
    };
    const onDrop = (event: DragEvent) => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      setHovers(false);
      goTo('models');
      void takeFiles([...(event.dataTransfer?.files ?? [])]);
    };
    window.addEventListener('dragover', onOver);
    window.addEventListener('dragleave', onLeave);
    window.addEventListener('drop', onDrop);
    return () => {
      window.removeEventListener('dragover', onOver);
      window.removeEventListener('dragleave', onLeave);
      window.removeEventListener('drop', onDrop);
    };
  }, []);
  return hovers;
}
