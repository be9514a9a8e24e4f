/** One setting: what it is, a line about it, and what changes it. */
export function Setting({ title, about, children }: { title: string; about: string; children: React.ReactNode }) {
  return (
    <div className="setting">
      <div>
        <h3>{title}</h3>
        <p className="quiet small">{about}</p>
      </div>
      {children}
    </div>
  );
}
