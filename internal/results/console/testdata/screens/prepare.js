// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs in each document ahead of the page, and makes it look the same on all machines and at all times. That needs nothing
// which the content security policy of the console forbids.
(now, regular, bold, mono) => {
  if (location.protocol === 'about:') return;

  // Time stands still.
  const { Date } = window;
  window.Date = class extends Date {
    constructor(...time) {
      super(...(time.length ? time : [now]));
    }

    static now() {
      return now;
    }
  };

  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const faces = [
    new FontFace('Go', bytes(regular), { weight: '100 599' }), new FontFace('Go', bytes(bold), { weight: '600 900' }),
    new FontFace('Go Mono', bytes(mono), { weight: '100 900' }),
  ];
  faces.forEach((face) => document.fonts.add(face));
  // Letters are as wide as the font says, however a machine draws them. Marks that these fonts don't have take the place of
  // one that they have. The mark of live pages comes some time after the page, and nothing moves.
  const style = new CSSStyleSheet();
  style.replaceSync(`
    html { font-family: Go !important; text-rendering: geometricPrecision !important; }
    code, pre { font-family: "Go Mono" !important; }
    td > .message > summary::before { content: "\\25ba" !important; }
    .live { display: inline-flex !important; }
    * { caret-color: transparent !important; transition: none !important; animation: none !important; }
  `);
  document.adoptedStyleSheets = [style];

  /** Resolves once a picture of the page can be taken, and without what differs from server to server. */
  window.settled = async () => {
    await Promise.all(faces.map((face) => face.load()));
    await document.fonts.ready;
    document.querySelectorAll('.mark').forEach((mark) => { mark.textContent = '\u25ba'; });
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      texts.currentNode.data = texts.currentNode.data.replace(/^( *(?:creationTimestamp|resourceVersion|uid): ).*$/gm, '$1fixed');
    }
  };
}
