// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package call_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/docket-project/docket/controller/internal/policy/call"
)

// otherBundle is the certificate of an authority that signs nothing here.
const otherBundle = `-----BEGIN CERTIFICATE-----
MIIBeDCCAR2gAwIBAgIUKqYiDZAUYY+uy+TxzFEc6SGn9vcwCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFb3RoZXIwIBcNMjYxMTIxMTkwMjM2WhgPMjEyNjEwMjgxOTAy
MzZaMBAxDjAMBgNVBAMMBW90aGVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
HCTUa+BiCMwfviQRaW7t8J2Hq4ZIlkFSg1Sv4Luhi0AP3iVPYBn5IuXa5nCMNNpi
rbPPXeudwNYgpkTKE423MaNTMFEwHQYDVR0OBBYEFAoc5MlgoGHhhsYynWmOJd5o
fg04MB8GA1UdIwQYMBaAFAoc5MlgoGHhhsYynWmOJd5ofg04MA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAJEeadUxoiNolZkuFte6+xmz7eVsi8WF
QUBbD3iwxv0cAiEArPU3ZXJVCDWYGMIdmZXG24zCMV7Wd7ermwzcCQoInoQ=
-----END CERTIFICATE-----
`

func TestWrongRequestsNameTheirField(t *testing.T) {
	t.Parallel()
	ok := call.Request{URL: "https://svc.kyverno/example"}
	for name, test := range map[string]struct {
		change func(*call.Request)
		field  string
		word   string
	}{
		"nothing":          {func(r *call.Request) { r.URL = "" }, call.FieldURL, "either"},
		"both":             {func(r *call.Request) { r.Path = "/api" }, call.FieldURL, "either"},
		"scheme":           {func(r *call.Request) { r.URL = "ftp://x/" }, call.FieldURL, "https://"},
		"no host":          {func(r *call.Request) { r.URL = "https:///x" }, call.FieldURL, "https://"},
		"not a URL":        {func(r *call.Request) { r.URL = "https://u:hunter2@x:y/" }, call.FieldURL, "not a URL"},
		"method":           {func(r *call.Request) { r.Method = "DELETE" }, call.FieldMethod, "DELETE"},
		"data of a GET":    {func(r *call.Request) { r.Data = []call.Datum{{Key: "a"}} }, call.FieldData, "POST"},
		"data":             {func(r *call.Request) { r.Method, r.Data = "POST", []call.Datum{{Key: "a", Value: math.NaN()}} }, call.FieldData, "JSON"},
		"header":           {func(r *call.Request) { r.Headers = []call.Header{{Key: "a b"}} }, call.FieldHeaders, `"a b"`},
		"header value":     {func(r *call.Request) { r.Headers = []call.Header{{Key: "a", Value: "hunter2\n"}} }, call.FieldHeaders, "line break"},
		"no PEM":           {func(r *call.Request) { r.CABundle = "Zm9v" }, call.FieldCABundle, "BEGIN CERTIFICATE"},
		"a key":            {func(r *call.Request) { r.CABundle = "-----BEGIN KEY-----\nAAAA\n-----END KEY-----\n" }, call.FieldCABundle, "KEY"},
		"redacted":         {func(r *call.Request) { r.CABundle = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" }, call.FieldCABundle, "can't be read"},
		"relative path":    {func(r *call.Request) { r.URL, r.Path = "", "api/v1" }, call.FieldPath, "begins with"},
		"path with host":   {func(r *call.Request) { r.URL, r.Path = "", "//host/api" }, call.FieldPath, "begins with"},
		"path upwards":     {func(r *call.Request) { r.URL, r.Path = "", "/api/../x" }, call.FieldPath, "begins with"},
		"path that writes": {func(r *call.Request) { r.URL, r.Path, r.Method = "", "/api/v1/namespaces/team/configmaps", "POST" }, call.FieldPath, "write nothing"},
		"path and header":  {func(r *call.Request) { r.URL, r.Path, r.Headers = "", "/api", []call.Header{{Key: "a"}} }, call.FieldPath, "headers"},
	} {
		request := ok
		test.change(&request)
		err := request.Check()
		var field *call.FieldError
		if !errors.As(err, &field) || field.Field != test.field || !strings.Contains(err.Error(), test.word) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
		if _, other := call.NewClient(call.Config{}).Do(t.Context(), request); !errors.As(other, &field) {
			t.Errorf("%s: a client takes it: %v", name, other)
		}
	}
	if err := ok.Check(); err != nil {
		t.Error(err)
	}
}
