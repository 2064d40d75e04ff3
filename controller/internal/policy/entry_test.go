// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func service(t *testing.T, address, method string, headers map[string]string, data map[string]any, bundle string) policy.EntryService {
	t.Helper()
	return testkit.Must(policy.NewEntryService(address, method, headers, data, bundle))(t)
}

// TestEqualCalls: the entries of equal calls are equal, and those of others are not.
func TestEqualCalls(t *testing.T) {
	t.Parallel()
	headers, data := map[string]string{"X-A": "1", "x-b": "2"}, map[string]any{"b": []any{int64(1)}, "a": map[string]any{"d": 1.0, "c": nil}}
	first := service(t, "https://a", "POST", headers, data, "PEM\n")
	if again := service(t, "https://a", "POST", map[string]string{"X-B": "2", "x-a": "1"}, map[string]any{"a": map[string]any{"c": nil, "d": int64(1)}, "b": []any{1.0}}, "PEM"); again != first {
		t.Errorf("%v and %v differ", first.Body, again.Body)
	}
	if service(t, "https://a", "", nil, nil, "") != service(t, "https://a", "GET", map[string]string{}, map[string]any{}, "") {
		t.Error("no method is not GET")
	}
	for name, other := range map[string]policy.EntryService{
		"URL":      service(t, "https://b", "POST", headers, data, "PEM"),
		"method":   service(t, "https://a", "GET", headers, data, "PEM"),
		"headers":  service(t, "https://a", "POST", map[string]string{"X-A": "1"}, data, "PEM"),
		"data":     service(t, "https://a", "POST", headers, map[string]any{"b": []any{int64(2)}}, "PEM"),
		"caBundle": service(t, "https://a", "POST", headers, data, "other"),
	} {
		if other == first {
			t.Errorf("%s: the calls are equal", name)
		}
	}
}

// TestEntriesHaveNoSecrets: whatever prints an entry.
func TestEntriesHaveNoSecrets(t *testing.T) {
	t.Parallel()
	entry := policy.Entry{Service: service(t, "https://user:secret@a/path?token=secret", "POST", map[string]string{"Authorization": "secret"}, map[string]any{"key": "secret"}, "secret")}
	query := policy.Query{Entry: entry}
	for _, text := range []string{fmt.Sprint(entry), fmt.Sprintf("%+v", entry), fmt.Sprintf("%#v", entry), fmt.Sprintf("%+v", &query), fmt.Sprintf("%v", []policy.Entry{entry}), entry.Service.String()} {
		if strings.Contains(text, "secret") || !strings.Contains(text, "POST https://a/path") {
			t.Error(text)
		}
	}
	if text := fmt.Sprint(policy.Entry{Name: "x"}); strings.Contains(text, "service") {
		t.Error(text)
	}
}
