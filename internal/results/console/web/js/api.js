// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// What the console asks the cluster.

const group = '/apis/results.docket.dev/v1alpha1';

/** The oldest state that answers are of, by the signal of who asked: a resourceVersion. */
const states = new WeakMap();

/**
 * Forgets and returns the state that the answers show which one has got with a signal.
 * @param {AbortSignal} signal
 * @returns {string} "" for none
 */
export function takeState(signal) {
  const state = states.get(signal) ?? '';
  states.delete(signal);
  return state;
}

/**
 * @param {AbortSignal} signal
 * @param {string|undefined} version of an answer of results.docket.dev, where it is a number
 */
function note(signal, version) {
  if (version && (!states.has(signal) || BigInt(version) < BigInt(states.get(signal)))) states.set(signal, version);
}

/** An answer that is an error: of the cluster, or of the console itself. */
export class ApiError extends Error {
  /**
   * @param {number} code of HTTP
   * @param {string} message
   * @param {string} signIn how the console wants a browser to sign in: by its link (sign-in), or at its proxy (proxy)
   * @param {string} right that the request needs, where it is one of its own
   * @param {{kind?: string, name?: string}} [details] what the error is about
   */
  constructor(code, message, signIn = '', right = '', details = undefined) {
    super(message);
    this.code = code;
    this.signIn = signIn;
    this.right = right;
    this.details = details;
  }
}

/**
 * @param {string} path
 * @param {RequestInit} [options]
 * @param {string} [right]
 * @returns {Promise<any>}
 */
async function request(path, options = {}, right = '') {
  let response;
  try {
    response = await fetch(path, { ...options, headers: { Accept: 'application/json', 'Content-Type': 'application/json' } });
  } catch (error) {
    if (error.name === 'AbortError' || error.name === 'TimeoutError') throw error;
    throw new ApiError(0, 'The console does not answer.');
  }
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  let said = { kind: '', message: text };
  try {
    said = JSON.parse(text) ?? said;
  } catch { /* Not all errors are JSON. */ }
  // The cluster and the console say it with a Status; proxies of people whose session has ended don't, oauth2-proxy with {}.
  const signIn = response.headers.get('Docket-Console') ?? (response.status === 401 && said.kind !== 'Status' ? 'proxy' : '');
  throw new ApiError(response.status, said.message || response.statusText, signIn, right, said.details);
}

/**
 * @param {string} path
 * @param {Record<string, string|number>} params
 * @param {AbortSignal} [signal]
 */
export function get(path, params = {}, signal) {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== '').map(([k, v]) => [k, String(v)])).toString();
  return request(query ? `${path}?${query}` : path, { signal });
}

/** @returns {Promise<string>} the name that the cluster knows the asker by */
export async function whoAmI() {
  const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
  const { status } = await request('/apis/authentication.k8s.io/v1/selfsubjectreviews', { method: 'POST', body });
  return status.userInfo.username;
}

/**
 * A page of results.
 * @param {{namespace: string, global?: boolean}} where global: those in reports outside of namespaces
 * @param {Record<string, string|number>} params
 * @param {AbortSignal} signal
 */
export async function results(where, params, signal) {
  const scope = where.namespace ? `/namespaces/${encodeURIComponent(where.namespace)}` : '';
  const answer = await get(`${group}${scope}/${where.global ? 'clusterpolicyresults' : 'policyresults'}`, params, signal);
  note(signal, answer.metadata.resourceVersion);
  return answer;
}

/**
 * A summary of each cluster whose reports are in the database, by name.
 * @param {AbortSignal} [signal]
 * @returns {Promise<any[]>}
 */
export async function clusterSummaries(signal) {
  return (await request(`${group}/clustersummaries`, { signal }, 'list clustersummaries.results.docket.dev')).items;
}

/** How many summaries are read at most: in one answer, as the server counts all results for each. */
const mostSummaries = 10_000;

/**
 * The summaries of a scope that are not about what is outside of namespaces alone.
 * @param {string} what policies, or namespaces
 * @param {string} namespace "" for all
 * @param {AbortSignal} signal
 * @returns {Promise<{items: any[], more: boolean}>} more says that there are further ones
 */
export async function summaries(what, namespace, signal) {
  const resource = what === 'policies' ? (namespace ? 'policysummaries' : 'clusterpolicysummaries') : 'namespacesummaries';
  const { items, metadata } = await get(`${group}${namespace ? `/namespaces/${encodeURIComponent(namespace)}` : ''}/${resource}`, { limit: mostSummaries }, signal);
  note(signal, metadata.resourceVersion);
  return { items, more: Boolean(metadata.continue) };
}

/** @param {string} text @returns {string} a literal of CEL */
export const literal = (text) => JSON.stringify(text);

/** @param {string[]} conditions @returns {string} an expression that demands all */
export const every = (conditions) => conditions.filter(Boolean).join(' && ');

/**
 * A question about the results of a scope.
 * @param {import('./router.js').Scope} scope
 * @param {Record<string, any>} spec
 */
export function queryOf(scope, spec) {
  const local = scope.namespace && !scope.fleet;
  const where = scope.outside || scope.namespace && !local ? `report.namespace == ${literal(scope.outside ? '' : scope.namespace)}` : '';
  const filter = every([where && spec.filter ? `(${spec.filter})` : spec.filter, where]);
  const kind = scope.fleet ? 'FleetQuery' : local ? 'LocalResultQuery' : 'ResultQuery';
  const metadata = local ? { metadata: { namespace: scope.namespace } } : {};
  const asked = Object.fromEntries(Object.entries({ ...spec, filter }).filter(([, value]) => value && value.length !== 0));
  return { apiVersion: 'results.docket.dev/v1alpha1', kind, ...metadata, spec: asked };
}

/**
 * @typedef {Object} Answer
 * @property {{by: Record<string, string>, results: number, [aggregate: string]: any}[]} groups
 * @property {any[]} results like those of lists
 * @property {string} next continues behind the results, "" at their end
 * @property {boolean} more whether there are more groups, or results without a way to continue
 */

/**
 * Asks a question about the results of a scope.
 * @param {import('./router.js').Scope} scope
 * @param {Record<string, any>} spec
 * @param {AbortSignal} [signal]
 * @returns {Promise<Answer>}
 */
export async function ask(scope, spec, signal) {
  const everywhere = scope.fleet ? 'fleetqueries' : 'resultqueries';
  const path = scope.namespace && !scope.fleet ? `namespaces/${encodeURIComponent(scope.namespace)}/localresultqueries` : everywhere;
  const { status } = await request(`${group}/${path}`, { method: 'POST', body: JSON.stringify(queryOf(scope, spec)), signal }, scope.fleet ? 'create fleetqueries.results.docket.dev' : '');
  if (signal) note(signal, status.resourceVersion);
  return {
    groups: (status.groups ?? []).map((g) => ({ ...g, by: g.by ?? {} })),
    results: (status.results ?? []).map(({ namespace, name, ...result }) => ({ metadata: { namespace, name }, ...result })),
    next: status.continue ?? '', more: Boolean(status.more),
  };
}

/** How long a page waits for a part that it can be shown without, in milliseconds; and how long one that is shown does. */
const brief = 2000;
export const longer = 6000;

/**
 * Asks like ask, for a part of a page that it can be shown without.
 * @param {import('./router.js').Scope} scope
 * @param {Record<string, any>} spec
 * @param {AbortSignal} signal
 * @param {number} [wait] in milliseconds
 * @returns {Promise<Answer|null>} null if there is no answer soon
 */
export async function askBriefly(scope, spec, signal, wait = brief) {
  try {
    return await ask(scope, spec, AbortSignal.any([signal, AbortSignal.timeout(wait)]));
  } catch (error) {
    if (error.name === 'TimeoutError') return null;
    throw error;
  }
}
