// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/docket-project/docket/internal/plane/statedir"
	"github.com/docket-project/docket/internal/store/database"
)

// greeting is what `docket up` prints when it is ready.
type greeting struct {
	url, kubeconfig, database string
	took                      time.Duration
	// console is the line with the link to the console; "" for none.
	console string
}

// print prints it. Errors of out are ignored: if it was closed, no one wants to read it,
// and the server works.
func (g greeting) print(out io.Writer) {
	_, _ = fmt.Fprintf(out, "Docket is ready at %s after %s. Stop it with Ctrl-C.\n", g.url, g.took.Round(10*time.Millisecond))
	if g.console != "" {
		_, _ = fmt.Fprintf(out, "\n%s\n", g.console)
	}
	_, _ = fmt.Fprintf(out, `
In another terminal:

  export KUBECONFIG=%s
  kubectl get policyreports -A
`, statedir.Quote(g.kubeconfig))
	place, query := sqlOf(g.database)
	_, _ = fmt.Fprintf(out, "\nReports are kept in %s.", place)
	if query != "" {
		_, _ = fmt.Fprintf(out, " With SQL:\n\n  %s", query)
	}
	_, _ = fmt.Fprint(out, "\n\n")
}

// sqlOf returns where a database is, and a command that asks it something; "" for one that has
// no SQL.
func sqlOf(databaseURL string) (place, query string) {
	place = database.Redacted(databaseURL)
	u, err := url.Parse(place)
	switch {
	case err != nil || database.IsEtcd(databaseURL):
		return place, ""
	case strings.HasPrefix(u.Scheme, "postgres"):
		return place, fmt.Sprintf("psql %s -c 'SELECT * FROM docket.clusters'", statedir.Quote(place))
	default:
		return u.Path, fmt.Sprintf("sqlite3 -readonly %s 'SELECT * FROM clusters'", statedir.Quote(u.Path))
	}
}
