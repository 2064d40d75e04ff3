// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package statedir

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/docket-project/docket/internal/kit/atomicfile"
	"github.com/docket-project/docket/internal/kit/certificate"
)

// contextName is the name of context, cluster and user in the kubeconfig.
const contextName = "docket"

// WriteKubeconfig writes a self-contained file, with certificate and token. The user's own
// ~/.kube/config is not touched.
func (f *Folder) WriteKubeconfig(url string, ca *certificate.Pair, token string) error {
	return f.writeKubeconfig(KubeconfigFile, contextName, clientcmdapi.Cluster{Server: url, CertificateAuthorityData: ca.CertificatePEM}, token)
}

// WriteTeamKubeconfig writes a file for several people, with the address of the server and no
// credentials: each adds their own to the user name, or lets the context name another user. ca
// may be nil.
func (f *Folder) WriteTeamKubeconfig(name, url string, ca *certificate.Pair) error {
	cluster := clientcmdapi.Cluster{Server: url}
	if ca != nil {
		cluster.CertificateAuthorityData = ca.CertificatePEM
	}
	return f.writeKubeconfig(TeamKubeconfigFile, name, cluster, "")
}

// writeKubeconfig writes a file in which context, cluster and user have the same name.
func (f *Folder) writeKubeconfig(file, name string, cluster clientcmdapi.Cluster, token string) error {
	data, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: &cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
	if err != nil {
		return fmt.Errorf("create %s: %w", file, err)
	}
	if err := atomicfile.Write(f.Path(file), data); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
