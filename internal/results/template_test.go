// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

func TestTemplate(t *testing.T) {
	t.Parallel()
	pod := &engine.Subject{Name: "web-1-abc", Namespace: "shop", UID: "5d1f"}
	for _, test := range []struct {
		message, want string
		subject       *engine.Subject
	}{
		{"Pod shop/web-1-abc runs as root", "Pod \x02/\x01 runs as root", pod},
		{"uid=5d1f.", "uid=\x03.", pod},
		{"web-1 and web-1-abc, web-1", "web-1 and \x01, web-1", pod},
		{"web-1-abcd, xweb-1-abc, web-1-abc_d, shopping, öshop", "web-1-abcd, xweb-1-abc, web-1-abc_d, shopping, öshop", pod},
		{"in shop: web-1", "in shop: web-1", nil},
		{"a \x01 that was there", "a \uFFFD that was there", pod},
		{"", "", pod},
		{"shop", "\x02", pod},
	} {
		if got := namesOf(test.subject).template(test.message); got != test.want {
			t.Errorf("%q became %q, want %q", test.message, got, test.want)
		}
	}
	odd := &engine.Subject{Name: "a\x02b", Namespace: "shop"}
	if got := namesOf(odd).template("of shop"); got != "of \x02" {
		t.Errorf("got %q", got)
	}
}

// FuzzTemplate: putting the names back in the order of the views restores the message.
func FuzzTemplate(f *testing.F) {
	f.Add("Pod shop/web-1 runs as root", "web-1", "shop", "5d1f")
	f.Add("a a b ab a", "a", "b", "ab")
	f.Add("x \x01 y", "x", "\x02", "y")
	f.Fuzz(func(t *testing.T, message, name, namespace, uid string) {
		s := &engine.Subject{Name: text(name), Namespace: text(namespace), UID: text(uid)}
		message = text(message)
		got := namesOf(s).template(message)
		for _, c := range []struct{ placeholder, text string }{
			{"\x01", s.Name}, {"\x02", s.Namespace}, {"\x03", s.UID},
		} {
			got = strings.ReplaceAll(got, c.placeholder, c.text)
		}
		want := message
		for _, c := range engine.Placeholders {
			want = strings.ReplaceAll(want, string(c), "\uFFFD")
		}
		if got != want {
			t.Errorf("%q became %q", want, got)
		}
	})
}
