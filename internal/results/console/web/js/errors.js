// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// What is shown instead of a page that can't be read: what happened, and what to do.

import { ApiError } from './api.js';
import { h } from './dom.js';
import { quoted } from './filters.js';
import { nearest } from './missing.js';
import { copyable, link } from './pieces.js';
import { namespaceForm } from './picker.js';

/**
 * @param {any} error
 * @param {import('./pieces.js').Context} context
 * @param {string[]} namespaces
 * @param {() => void} retry
 */
export function explain(error, context, namespaces, retry) {
  const again = h('p', {}, h('button', { type: 'button', onclick: retry }, 'Try again'));
  const said = h('p', { class: 'said' }, error.message);
  if (!(error instanceof ApiError)) return alert('This page has a fault', said, again);
  const team = Boolean(context.info.signIn);
  const reload = h('p', {}, h('button', { type: 'button', onclick: () => location.reload() }, 'Reload'));
  if (error.signIn === 'proxy') return alert('You are not signed in', h('p', {}, 'Reload the page to sign in again.'), said, reload);
  if (error.signIn) {
    const { newLink } = context.info;
    return alert('This browser is not signed in', h('p', {}, 'The console was started again, or another browser has its link. ', newLink
      ? ['For a new link, run in a terminal: ', h('code', {}, newLink)]
      : ['Stop ', h('code', {}, 'docket console'), ' in its terminal with Ctrl-C, start it again and open the new link.']));
  }
  if (error.right && (error.code === 403 || error.code === 404)) return ofAllClusters(error, context.info.kubectl, said, again);
  const { namespace } = context.scope;
  switch (error.code) {
    case 403:
      return alert(namespace ? `You may not read results in namespace ${namespace}` : 'You may not read the results of all namespaces',
        h('p', {}, 'Choose a namespace that you have rights in:'), namespaceForm(context.place, namespaces, namespace ? '' : context.info.namespace ?? ''), said);
    case 401:
      if (team) return alert('The cluster does not know you', h('p', {}, 'Your sign-in may have ended. Reload the page to sign in again.'), said, reload);
      return alert('The cluster does not know you', h('p', {}, 'It refuses the credentials of your kubeconfig. Sign in there, and try again.'), said, again);
    case 404:
      return missing(error, context, namespaces, said, again);
    case 400:
    case 410:
      return alert('The cluster does not understand this address', said, h('p', {}, h('a', { href: link(context, context.place.page) }, 'Start from the first page')));
    case 502:
      return alert('The cluster can\u2019t be reached', said, again);
    default:
      if (error.code) return alert('The cluster could not answer', said, again);
      return alert('The console is gone', said, h('p', {}, team ? 'Or your sign-in has ended: reload the page.' : 'Is docket console still running?'), team ? reload : again);
  }
}

/** Says which of three things is not there: the namespace, an object, or the API of results. */
function missing({ details }, context, namespaces, ...more) {
  const { namespace } = context.scope;
  if (details?.kind === 'namespaces') {
    return alert(`There is no namespace ${namespace}`, h('p', {}, 'Choose one:'), namespaceForm(context.place, namespaces, nearest(namespace, namespaces)[0] ?? ''), more);
  }
  if (details?.name) return alert('Not found', h('p', {}, 'The object is gone.'), more);
  return alert('This cluster does not serve results', h('p', {}, 'The group results.docket.dev needs Docket with reports in SQLite or PostgreSQL, registered in the cluster.'), more);
}

/**
 * Says what it takes to know of all clusters, which is more than rights in one.
 * @param {ApiError} error
 * @param {string[]} kubectl
 * @param {...any} more
 */
function ofAllClusters({ code, right }, kubectl, ...more) {
  if (code === 404) return alert('The cluster does not know of others', h('p', {}, 'Its reports are in etcd, which answers no questions about results.'), more);
  return alert('You may not read about all clusters', h('p', {}, 'That is a right of its own, as it shows numbers and results of clusters in which you have no rights. Whether you have it:'),
    copyable('Copy', [...kubectl, 'auth', 'can-i', ...right.split(' ')].map(quoted).join(' ')), more);
}

/**
 * @param {string} title
 * @param {...any} content
 */
function alert(title, ...content) {
  return h('section', { class: 'problem', role: 'alert' }, h('h1', {}, title), content);
}
