; Members reach each other directly: lets them in on private and company networks, never on public ones.
; Windows learns here of roomful:// links; electron-builder tells only macOS and Linux.
!macro customInstall
  nsExec::Exec 'netsh advfirewall firewall delete rule name="Roomful"'
  nsExec::Exec 'netsh advfirewall firewall add rule name="Roomful" dir=in action=allow program="$INSTDIR\Roomful.exe" profile=private,domain enable=yes'
  WriteRegStr SHCTX "Software\Classes\roomful" "" "URL:Roomful invite"
  WriteRegStr SHCTX "Software\Classes\roomful" "URL Protocol" ""
  WriteRegStr SHCTX "Software\Classes\roomful\shell\open\command" "" '"$INSTDIR\Roomful.exe" "%1"'
!macroend

!macro customUnInstall
  nsExec::Exec 'netsh advfirewall firewall delete rule name="Roomful"'
  DeleteRegKey SHCTX "Software\Classes\roomful"
!macroend
