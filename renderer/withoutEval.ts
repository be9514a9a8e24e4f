import { config } from 'zod';

// The content security policy forbids code made from text, which zod would otherwise try as soon as a schema is made: this
// module comes before all others.
config({ jitless: true });
