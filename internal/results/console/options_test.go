// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net"
	"strings"
	"testing"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	hosts := []string{teamHost}
	encrypted := func(o Options) Options {
		o.Hosts, o.TLSCertFile, o.TLSPrivateKeyFile = hosts, "tls.crt", "tls.key"
		return o
	}
	for name, test := range map[string]struct {
		change func(o *Options)
		want   []string
	}{
		"link":                     {func(o *Options) { o.SignIn = SignInLink }, nil},
		"token":                    {func(o *Options) { o.Hosts = hosts }, nil},
		"encrypted":                {func(o *Options) { *o = encrypted(*o) }, nil},
		"headers beside the proxy": {func(o *Options) { o.SignIn, o.Hosts = SignInHeaders, hosts }, nil},
		"headers with proof": {func(o *Options) {
			*o = encrypted(*o)
			o.SignIn, o.ProxyClientCAFile, o.ProxyClientNames = SignInHeaders, "ca", []string{"p"}
		}, nil},
		"no such way":                  {func(o *Options) { o.SignIn = "oidc" }, []string{`--sign-in: "oidc" is none of link, token and headers`}},
		"no host":                      {func(*Options) {}, []string{"--host: name"}},
		"an address in place of hosts": {func(o *Options) { o.Hosts = []string{"https://docket.example.com"} }, []string{"--host: \"https"}},
		"half a pair":                  {func(o *Options) { o.TLSCertFile = "tls.crt" }, []string{"--host", "--tls-cert-file and --tls-private-key-file"}},
		"a link and hosts":             {func(o *Options) { o.SignIn, o.Hosts = SignInLink, hosts }, []string{"--sign-in"}},
		"a token and proof":            {func(o *Options) { o.Hosts, o.ProxyClientCAFile = hosts, "ca" }, []string{"--proxy-client-ca-file"}},
		"no user header":               {func(o *Options) { o.SignIn, o.Hosts, o.UserHeaders = SignInHeaders, hosts, nil }, []string{"--user-headers"}},
		"names without authority":      {func(o *Options) { o.SignIn, o.Hosts, o.ProxyClientNames = SignInHeaders, hosts, hosts }, []string{"--proxy-client-ca-file"}},
		"an authority without names":   {func(o *Options) { *o = encrypted(*o); o.SignIn, o.ProxyClientCAFile = SignInHeaders, "ca" }, []string{"--proxy-client-names"}},
		"proof without encryption": {func(o *Options) {
			o.SignIn, o.Hosts, o.ProxyClientCAFile, o.ProxyClientNames = SignInHeaders, hosts, "ca", hosts
		}, []string{"--tls-cert-file"}},
	} {
		o := options(SignInToken)
		test.change(&o)
		err := o.Validate()
		if (err == nil) != (test.want == nil) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		for _, want := range test.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
}

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	const everywhere = "0.0.0.0"
	for _, test := range []struct {
		signIn, ip       string
		encrypted, proof bool
		allowed          bool
		want             string
	}{
		{SignInToken, "127.0.0.1", false, false, false, ""},
		{SignInToken, "::1", false, false, false, ""},
		{SignInToken, everywhere, false, false, false, "--tls-cert-file"},
		{SignInToken, "::", false, false, false, "--tls-cert-file"},
		{SignInToken, everywhere, false, false, true, ""},
		{SignInToken, everywhere, true, false, false, ""},
		{SignInHeaders, "127.0.0.1", false, false, false, ""},
		{SignInHeaders, "::ffff:127.0.0.1", false, false, false, ""},
		// Encryption proves nothing, and nobody may confirm it away.
		{SignInHeaders, everywhere, true, false, true, "--proxy-client-ca-file"},
		{SignInHeaders, "10.1.2.3", true, false, true, "--proxy-client-ca-file"},
		{SignInHeaders, everywhere, true, true, false, ""},
	} {
		o := options(test.signIn)
		o.AllowNonLoopback = test.allowed
		if test.encrypted {
			o.TLSCertFile = "tls.crt"
		}
		if test.proof {
			o.ProxyClientCAFile = "ca.crt"
		}
		err := o.CheckAddress(&net.TCPAddr{IP: net.ParseIP(test.ip), Port: 8443})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
