interface HopProps {
  number: number;
  /** Where the next band begins, as a fraction of the width. */
  offset: number;
}

/** The way of the activations from one member to the next, drawn where their bands meet. */
export function Hop({ number, offset }: HopProps) {
  return (
    <p className="hop">
      <span className="hop-line" style={{ left: `${offset * 100}%` }} />
      <span className={offset > 0.5 ? 'hop-label hop-label-left' : 'hop-label'} style={{ left: `${offset * 100}%` }}>
        hop {number}
      </span>
    </p>
  );
}
