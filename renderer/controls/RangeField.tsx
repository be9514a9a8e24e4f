interface RangeFieldProps {
  label: string;
  value: number;
  min: number;
  max: number;
  step: number;
  /** The value for people, with its unit. */
  text: string;
  hint?: string | undefined;
  onChange: (value: number) => void;
  /** Called when the hand lets go: what came before was one change. */
  onSettled?: () => void;
}

/** A labelled slider with its value beside the label. */
export function RangeField({ label, value, min, max, step, text, hint, onChange, onSettled }: RangeFieldProps) {
  return (
    <label className="field">
      <span className="field-head">
        {label}
        <output>{text}</output>
      </span>
      <input
        className="range"
        type="range"
        min={min}
        max={max}
        step={step}
        value={value}
        aria-label={label}
        aria-valuetext={text}
        onChange={(event) => onChange(event.target.valueAsNumber)}
        onPointerUp={onSettled}
        onBlur={onSettled}
      />
      {hint !== undefined && <span className="field-hint">{hint}</span>}
    </label>
  );
}
