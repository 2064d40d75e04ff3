// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxShown is how many bytes of a body are kept to be shown.
	maxShown = 8 << 10
	// maxSearched is how many bytes are read in search of Secrets: OpenAPI documents have megabytes.
	maxSearched = 256 << 10
)

// secretHeaders are those whose values let somebody else in: checks may send some of their own making.
var secretHeaders = []string{"Authorization", "Proxy-Authorization", "Cookie"}

func sentOf(r Request, address *url.URL) Sent {
	headers := map[string]string{}
	for name := range r.Header {
		if name == "Accept" && r.Header.Get(name) == JSON {
			continue // As everywhere.
		}
		headers[name] = r.Header.Get(name)
		if slices.Contains(secretHeaders, name) {
			headers[name] = "(hidden)"
		}
	}
	if headers["Accept"] == "" && r.Header.Get("Accept") == "" {
		headers["Accept"] = "(none)"
	}
	return Sent{Method: r.Method, URL: address.RequestURI(), Headers: headers, Body: shown(r.Body)}
}

// shownHeaders are those of answers that checks are about.
func shownHeaders(header http.Header) map[string]string {
	headers := map[string]string{}
	for _, name := range []string{"Content-Type", "Warning", "Retry-After", "Etag", "Cache-Control", "Location", "Allow", "Accept-Patch"} {
		if values := header.Values(name); len(values) > 0 {
			headers[name] = strings.Join(values, ", ")
		}
	}
	return headers
}

// shown returns as much of a body as people can use.
func shown(body []byte) string {
	body = hideSecrets(body)
	if !utf8.Valid(body) {
		return "(not text)"
	}
	return Shorten(string(bytes.TrimSpace(body)), maxShown)
}

// Shorten returns a text, or its first bytes and an ellipsis if it has more than most.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return strings.Clone(text[:cut]) + " …" // Not all of a large body with it.
}

// hideSecrets takes the contents out of Secrets: what is shown may go to a log. A body that is
// about Secrets and can't be read is hidden as a whole.
func hideSecrets(body []byte) []byte {
	if !bytes.Contains(body, []byte(`Secret`)) && !bytes.Contains(body, []byte(`secrets`)) {
		return body
	}
	var value any
	if len(body) > maxSearched || json.Unmarshal(body, &value) != nil {
		return []byte("(not shown: it may have the contents of Secrets)")
	}
	hideIn(value)
	hidden, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return hidden
}

// hideIn looks for Secrets at all depths: lists, watch events, tables.
func hideIn(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			hideIn(item)
		}
	case map[string]any:
		kind, _ := v["kind"].(string)
		for name, item := range v {
			isItems := name == "items" && kind == "SecretList"
			if items, ok := item.([]any); ok && isItems {
				for _, one := range items {
					hideContents(one)
				}
			}
			hideIn(item)
		}
		if kind == "Secret" {
			hideContents(v)
		}
	}
}

func hideContents(secret any) {
	fields, ok := secret.(map[string]any)
	if !ok {
		return
	}
	for _, name := range []string{"data", "stringData"} {
		contents, ok := fields[name].(map[string]any)
		if !ok {
			continue
		}
		for key := range contents {
			contents[key] = "(hidden)"
		}
	}
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		}
	}
}
