// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// How people sign in at a console, as the values of --sign-in.
const (
	// SignInLink lets one browser in, by a link: that is a [Console].
	SignInLink = "link"
	// SignInToken takes each request's bearer token, which a proxy sends, to the cluster.
	SignInToken = "token"
	// SignInHeaders believes a proxy who makes a request, and acts as that person.
	SignInHeaders = "headers"
)

// Options say how people sign in. The fields are the flags of the same names, without their dashes.
type Options struct {
	// SignIn is one of the constants above.
	SignIn string
	// Hosts are the names, with a port if it is not 443, by which browsers reach the proxy.
	Hosts []string
	// TLSCertFile and TLSPrivateKeyFile have the certificate for HTTPS; they are read again when they change.
	TLSCertFile, TLSPrivateKeyFile string
	// UserHeaders may have the name of the person: the first that is there counts. GroupHeaders have their groups.
	UserHeaders, GroupHeaders []string
	// ProxyClientCAFile has the authorities of the proxy's client certificates, and ProxyClientNames their common names.
	ProxyClientCAFile string
	ProxyClientNames  []string
	// AllowNonLoopback confirms that other machines may reach a console that is not encrypted.
	AllowNonLoopback bool
}

// NewOptions returns the defaults. No header has groups: a proxy that does not know of one would let browsers choose
// their groups.
func NewOptions() Options {
	return Options{SignIn: SignInLink, UserHeaders: []string{"X-Forwarded-User"}}
}

// ForTeam reports whether the console is a [Team].
func (o *Options) ForTeam() bool { return o.SignIn != SignInLink }

func (o *Options) encrypted() bool { return o.TLSCertFile != "" }

// Validate names each flag that can't be as it is.
func (o *Options) Validate() error {
	switch o.SignIn {
	case SignInLink:
		return o.validateLink()
	case SignInToken, SignInHeaders:
	default:
		return fmt.Errorf("--sign-in: %q is none of %s, %s and %s", o.SignIn, SignInLink, SignInToken, SignInHeaders)
	}
	var errs []error
	wrong := func(format string, arguments ...any) { errs = append(errs, fmt.Errorf(format, arguments...)) }
	if len(o.Hosts) == 0 {
		wrong("--host: name the host that people see in the address bar of their browsers, such as docket.example.com")
	}
	for _, host := range o.Hosts {
		if strings.ContainsAny(host, "/@ ") || hostname(host) == "" {
			wrong("--host: %q is no host; give a name such as docket.example.com, with :PORT if that is not 443", host)
		}
	}
	if (o.TLSCertFile == "") != (o.TLSPrivateKeyFile == "") {
		wrong("--tls-cert-file and --tls-private-key-file: give both, or neither")
	}
	if o.SignIn == SignInHeaders {
		errs = append(errs, o.validateHeaders())
	} else if o.ProxyClientCAFile != "" || len(o.ProxyClientNames) > 0 {
		wrong("--proxy-client-ca-file and --proxy-client-names are for --sign-in=headers: tokens need no proof of who sends them")
	}
	return errors.Join(errs...)
}

func (o *Options) validateLink() error {
	if len(o.Hosts) > 0 || o.TLSCertFile != "" || o.TLSPrivateKeyFile != "" || o.ProxyClientCAFile != "" || len(o.ProxyClientNames) > 0 {
		return errors.New("--sign-in: --host, --tls-cert-file, --tls-private-key-file, --proxy-client-ca-file and --proxy-client-names " +
			"are for a console behind a proxy; add --sign-in=token or --sign-in=headers")
	}
	return nil
}

func (o *Options) validateHeaders() error {
	var errs []error
	if len(o.UserHeaders) == 0 || slices.Contains(o.UserHeaders, "") {
		errs = append(errs, errors.New("--user-headers: name at least one header in which the proxy says who somebody is"))
	}
	switch {
	case o.ProxyClientCAFile == "" && len(o.ProxyClientNames) > 0:
		errs = append(errs, errors.New("--proxy-client-names: give --proxy-client-ca-file, too, with the authority of the proxy's certificate"))
	case o.ProxyClientCAFile != "" && len(o.ProxyClientNames) == 0:
		errs = append(errs, errors.New("--proxy-client-names: name the common name of the proxy's certificate: "+
			"anyone else with a certificate of the same authority could claim to be anybody"))
	case o.ProxyClientCAFile != "" && !o.encrypted():
		errs = append(errs, errors.New("--proxy-client-ca-file: a client certificate needs HTTPS; give --tls-cert-file and --tls-private-key-file"))
	}
	return errors.Join(errs...)
}

// CheckAddress says why a console for a team must not listen on an address.
func (o *Options) CheckAddress(address net.Addr) error {
	bound, err := netip.ParseAddrPort(address.String())
	switch {
	case err != nil:
		return fmt.Errorf("--listen: %s is no TCP address", address)
	case bound.Addr().IsLoopback():
		return nil
	case o.SignIn == SignInHeaders && o.ProxyClientCAFile == "":
		return fmt.Errorf("--listen: anyone who reaches %s could claim to be anybody; listen on 127.0.0.1, with the proxy beside the console, "+
			"or have the proxy show a certificate, with --proxy-client-ca-file and --proxy-client-names", address)
	case !o.encrypted() && !o.AllowNonLoopback:
		return fmt.Errorf("--listen: tokens would go to %s unencrypted; give --tls-cert-file and --tls-private-key-file, "+
			"listen on 127.0.0.1, or confirm with --allow-non-loopback", address)
	}
	return nil
}

// hostname is a host without its port; "" for what is none.
func hostname(host string) string {
	if !strings.Contains(host, ":") {
		return host
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		return ""
	}
	return name
}
