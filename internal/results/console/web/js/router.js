// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Every state of the console is an address: #/PAGE?PARAMETERS.

/**
 * @typedef {{page: string, params: URLSearchParams}} Place
 * @typedef {{namespace: string, outside: boolean, fleet?: boolean}} Scope of all pages: one namespace, what is outside of namespaces, or everything; fleet: of all clusters
 */

/** @returns {Place} */
export function here() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  return { page: path || 'overview', params: new URLSearchParams(query) };
}

/**
 * The address of a page. Empty values are left out; arrays are repeated.
 * @param {string} page
 * @param {Record<string, string|string[]|undefined>} params
 */
export function address(page, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const one of [value].flat()) if (one !== undefined && one !== '') query.append(name, one);
  }
  const text = query.toString();
  return `#/${page}${text ? `?${text}` : ''}`;
}

/**
 * @param {Place} place
 * @returns {Scope}
 */
export function scopeOf({ params }) {
  return { namespace: params.get('namespace') ?? '', outside: params.has('outside') };
}

/**
 * The parameters that keep a scope.
 * @param {Scope} scope
 */
export function scopeParams(scope) {
  return { namespace: scope.namespace, outside: scope.outside ? '1' : '' };
}
