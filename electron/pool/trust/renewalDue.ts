import { X509Certificate } from 'node:crypto';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Left of the 90 days of a certificate when it is renewed: a month, for machines that are seldom on. */
const RENEW_BEFORE_MS = 30 * DAY_MS;

/** Whether a certificate (PEM) is to be renewed now. */
export function renewalDue(certificate: string, nowMs: number): boolean {
  return nowMs >= validUntilMs(certificate) - RENEW_BEFORE_MS;
}

/** When a certificate (PEM) ends, ms since 1970. */
export function validUntilMs(certificate: string): number {
  return Date.parse(new X509Certificate(certificate).validTo);
}
