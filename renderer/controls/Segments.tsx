import { useId } from 'react';

interface SegmentsProps<T extends string> {
  label: string;
  value: T;
  choices: readonly { value: T; name: string }[];
  onChange: (value: T) => void;
}

/** One choice of a few, all of them in sight. */
export function Segments<T extends string>({ label, value, choices, onChange }: SegmentsProps<T>) {
  const name = useId();
  return (
    <fieldset className="field">
      <legend className="field-head">{label}</legend>
      <div className="segments">
        {choices.map((choice) => (
          <label key={choice.value} className="segment">
            <input
              type="radio"
              name={name}
              checked={choice.value === value}
              aria-label={choice.name}
              onChange={() => onChange(choice.value)}
            />
            <span>{choice.name}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
