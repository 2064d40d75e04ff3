// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestPrometheus has a real Prometheus scrape a server, evaluate all rules, and answer all queries of the dashboards.
//
// Results are counted for one server in a process: TestMetricsExist comes later.
func TestPrometheus(t *testing.T) {
	server, _ := startAtWork(t)
	p := startPrometheus(t, server)
	testkit.Succeeds(t, "all rules", func() error { return p.rulesAreWell(t.Context()) })
	recorded := `result_severity_source:docket_policy_results:sum{result="fail"}`
	testkit.Succeeds(t, "the recorded results", func() error {
		values, err := p.query(t.Context(), recorded)
		if err == nil && (len(values) != 1 || values[0].Metric["severity"] != "critical" || values[0].Metric["source"] != "kyverno" || values[0].Value[1] != "1") {
			err = fmt.Errorf("%s: %v", recorded, values)
		}
		return err
	})
	for _, expression := range serverExpressions(t) {
		if _, err := p.query(t.Context(), expression); err != nil {
			t.Error(err)
		}
	}
	for _, one := range readDashboard(t, resultsDashboard).Panels {
		for _, query := range queries(dashboard{Panels: []panel{one}}) {
			testkit.Succeeds(t, one.Title, func() error {
				values, err := p.query(t.Context(), query)
				// Prometheus does not know yesterday.
				if since := strings.Contains(query, "offset"); err == nil && (len(values) == 0) != since {
					err = fmt.Errorf("%s: %d series", query, len(values))
				}
				return err
			})
		}
	}
}

// prometheus is a Prometheus of a test.
type prometheus struct{ url string }

// startPrometheus starts a Prometheus that scrapes the server each second and has all its rules.
func startPrometheus(t *testing.T, server *measured) *prometheus {
	t.Helper()
	path := testenv.Program(t, "prometheus")
	_, serverFile := alertsOf(t, serverAlerts)
	_, resultsFile := alertsOf(t, resultsAlerts)
	config, err := yaml.Marshal(map[string]any{
		"global":     map[string]any{"scrape_interval": "1s", "evaluation_interval": "1s"},
		"rule_files": []string{"server.yaml", "results.yaml"},
		"scrape_configs": []any{map[string]any{
			"job_name": "docket", "scheme": "https",
			"authorization":  map[string]any{"credentials": token},
			"tls_config":     map[string]any{"ca_file": "ca.crt", "server_name": server.tls.ServerName},
			"static_configs": []any{map[string]any{"targets": []string{strings.TrimPrefix(server.url, "https://")}}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"prometheus.yaml": config, "server.yaml": serverFile, "results.yaml": resultsFile, "ca.crt": server.tls.CAData,
	} {
		testkit.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	address := fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t))
	testkit.Run(t, "prometheus", func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, path, "--config.file="+filepath.Join(dir, "prometheus.yaml"),
			"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
		output, err := cmd.CombinedOutput()
		if ctx.Err() == nil {
			return fmt.Errorf("it ended: %w\n%s", err, output)
		}
		return nil
	})
	p := &prometheus{url: "http://" + address}
	testkit.Succeeds(t, "a scrape", func() error {
		values, err := p.query(t.Context(), `docket_policy_results{job="docket"}`)
		if err == nil && len(values) == 0 {
			err = errors.New("there are no results")
		}
		return err
	})
	return p
}

// value is one of the answers to a query: labels, and [time, value].
type value struct {
	Metric map[string]string
	Value  [2]any
}

// query returns what an expression is now.
func (p *prometheus) query(ctx context.Context, expression string) ([]value, error) {
	var answer struct{ Result []value }
	err := p.get(ctx, "/api/v1/query?query="+url.QueryEscape(expression), &answer)
	if err != nil {
		err = fmt.Errorf("%s: %w", expression, err)
	}
	return answer.Result, err
}

// rulesAreWell returns an error unless each rule was evaluated, and without an error.
func (p *prometheus) rulesAreWell(ctx context.Context) error {
	var answer struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	if err := p.get(ctx, "/api/v1/rules", &answer); err != nil {
		return err
	}
	if len(answer.Groups) != 2 {
		return fmt.Errorf("there are %d groups of rules", len(answer.Groups))
	}
	for _, group := range answer.Groups {
		for _, rule := range group.Rules {
			if rule.Health != "ok" {
				return fmt.Errorf("%s is %s: %s", rule.Name, rule.Health, rule.LastError)
			}
		}
	}
	return nil
}

func (p *prometheus) get(ctx context.Context, path string, data any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := errors.Join(json.NewDecoder(response.Body).Decode(&answer), response.Body.Close()); err != nil {
		return err
	}
	if answer.Status != "success" {
		return fmt.Errorf("status %q: %s", answer.Status, answer.Error)
	}
	return nil
}
