/**
 * A certificate of 127.0.0.1 that nobody vouches for, for a hundred years, with its key: for tests of TLS alone. Made by
 * `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj /CN=127.0.0.1
 * -addext subjectAltName=IP:127.0.0.1`.
 */
export const loopbackCertificate = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg2mtaEogyQpm5i8FV
hEkR4wwSoFE0JtGBtSQey1+33/+hRANCAARKxdAIlcBQhbENnHs7I+zX0lCgjkwu
O+oIE+sqnr378IlTWaXp+++Ga4Dq+5otfzsWDDooGrDVPD7Aj3v/u7MU
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBkTCCATagAwIBAgIUTQI4FjYP24DhtRYTEoy3MML+q+wwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTEyMTE3NTEwOVoYDzIxMjYxMDI4
MTc1MTA5WjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARKxdAIlcBQhbENnHs7I+zX0lCgjkwuO+oIE+sqnr378IlTWaXp+++G
a4Dq+5otfzsWDDooGrDVPD7Aj3v/u7MUo2QwYjAdBgNVHQ4EFgQUichXN/7NMLi2
rH/nkzkYcb9sRAswHwYDVR0jBBgwFoAUichXN/7NMLi2rH/nkzkYcb9sRAswDwYD
VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0kAMEYC
IQCaftncxDdloAu6EJWkMe8jhS6a48WkEaLxuYlaeK9EXAIhAIPBpHAk0ENEPSzw
zUF732apCZ5du8cV3xEMg7odKvG5
-----END CERTIFICATE-----
`,
} as const;
