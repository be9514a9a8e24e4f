import type { ReactNode } from 'react';
import { Icon, type IconName } from './Icon.tsx';

interface EmptyProps {
  icon: IconName;
  title: string;
  /** What to do next. */
  children: ReactNode;
}

/** Stands where nothing is yet, and says what to do about it. */
export function Empty({ icon, title, children }: EmptyProps) {
  return (
    <div className="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}
