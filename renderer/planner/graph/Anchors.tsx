import { Handle, Position } from '@xyflow/react';
import { memo } from 'react';

/** Hops are drawn from border to border, but the library draws none where it finds no handles. */
export const Anchors = memo(function Anchors() {
  return (
    <>
      <Handle type="source" position={Position.Bottom} isConnectable={false} />
      <Handle type="target" position={Position.Bottom} isConnectable={false} />
    </>
  );
});
