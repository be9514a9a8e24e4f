; Members reach each other directly: lets them in on private and company networks, never on public ones.
!macro customInstall
  nsExec::Exec 'netsh advfirewall firewall delete rule name="Roomful"'
  nsExec::Exec 'netsh advfirewall firewall add rule name="Roomful" dir=in action=allow program="$INSTDIR\Roomful.exe" profile=private,domain enable=yes'
!macroend

!macro customUnInstall
  nsExec::Exec 'netsh advfirewall firewall delete rule name="Roomful"'
!macroend
